"""The machine's speed and limit, how steps use it, where their time goes, and what changes from
study to study."""
