// This library's own functions use steps, errors and `Cancellation`. An app that imports it needs
// no further import for them.
@_exported import MigrationKit
