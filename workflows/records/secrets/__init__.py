"""How messages spell what no record may say."""
