"""Parts of the Gemini CLI harness."""
