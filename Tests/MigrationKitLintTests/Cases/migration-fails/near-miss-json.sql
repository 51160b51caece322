-- migration: 0001_documents
CREATE TABLE documents (id INTEGER PRIMARY KEY, data TEXT CHECK (json_valid(data)));
-- migration: 0002_kind
-- expect in migration: breaks-installed-version
CREATE INDEX documents_kind ON documents (json_extract(data, '$.kind'));
