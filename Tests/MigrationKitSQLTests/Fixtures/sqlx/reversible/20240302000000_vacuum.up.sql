-- no-transaction

VACUUM