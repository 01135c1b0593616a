"""The optimal policy, with a proven gap."""
