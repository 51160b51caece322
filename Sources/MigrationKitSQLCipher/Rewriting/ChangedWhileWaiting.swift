import MigrationKitCommon
import MigrationKitPages

/// Another process changed the file while the lock was released for it.
struct ChangedWhileWaiting: Error {}
