"""Parts of the Google ADK harness."""
