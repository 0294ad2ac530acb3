"""Tests of collector.judge_queue."""
