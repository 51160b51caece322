import MigrationKit

/// Ends a conversion, a backup or a restore from another thread.
public typealias ConversionCancellation = Cancellation
