-- migrate:up transaction:false
VACUUM;

-- migrate:down transaction:false
VACUUM;
