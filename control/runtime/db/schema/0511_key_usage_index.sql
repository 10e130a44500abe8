-- Nothing reads the hours of keys by account, and booking wrote an entry of the index for every key and hour.
DROP INDEX IF EXISTS key_usage_account;
