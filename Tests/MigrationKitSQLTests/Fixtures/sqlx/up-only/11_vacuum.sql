-- no-transaction
VACUUM