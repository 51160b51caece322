-- no-transaction
VACUUM;
