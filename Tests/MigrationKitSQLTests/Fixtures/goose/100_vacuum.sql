-- +goose NO TRANSACTION
-- +goose Up
VACUUM;
-- +goose Down
SELECT 1;