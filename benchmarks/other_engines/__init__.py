"""Other stream processors, measured with the topics, traffic and verification of real-time mode."""
