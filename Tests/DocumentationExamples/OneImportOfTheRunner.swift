import MigrationKitGRDB

// What an app needs of the runner's errors and of its end, with one import.

func code(of error: MigrationKitError) -> (String, Int32) {
    (error.code.name, error.code.exitStatus.rawValue)
}

func cancellableOptions() -> (MigrationOptions, Cancellation) {
    let cancellation = Cancellation()
    cancellation.cancel()
    return (MigrationOptions(cancellation: cancellation), cancellation)
}
