// This library's own functions use the runner and its steps. An app that imports it needs no further
// import for them.
@_exported import MigrationKitGRDB
