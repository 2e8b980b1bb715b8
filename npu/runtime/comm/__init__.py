"""Communicators: ranks as threads of this process or as processes of a job, and what they exchange."""
