"""Questions, coding tasks and trigger prompts for coding assistants, and a runner that grades the answers by code."""
