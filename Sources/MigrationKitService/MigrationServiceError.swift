import MigrationKitCommon

/// Why a ``MigrationService`` can't run, or a database or a store isn't given out.
public enum MigrationServiceError: Error, Equatable, Sendable {
    /// The service runs already, or has run. A service runs once.
    case alreadyStarted

    /// The service of the database was shut down.
    case stopped

    /// The service of the ``EncryptedStores`` was shut down.
    case storesStopped

    /// The name can't be that of a file in the folder of the stores.
    case unusableStoreName(String)
}

extension MigrationServiceError: CodedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .alreadyStarted: "the service of the database was started a second time"
        case .stopped: "the database is closed: its service was shut down"
        case .storesStopped: "the stores are closed: their service was shut down"
        case .unusableStoreName(let name): "a store can't have the name \"\(name)\""
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .alreadyStarted: "Make a new service for each group, and add it once."
        case .stopped:
            "Put the database's service before the services that use it. A group shuts down the "
                + "last one first."
        case .storesStopped:
            "Put the stores' service before the services that use it. A group shuts down the "
                + "last one first."
        case .unusableStoreName:
            """
            A name has 1 to 200 bytes, doesn't begin with a full stop, and has no slash and no \
            control character.
            """
        }
    }

    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .alreadyStarted: ErrorCode("serviceAlreadyStarted", .usage)
        case .stopped, .storesStopped: ErrorCode("serviceStopped", .unavailable)
        case .unusableStoreName: ErrorCode("unusableStoreName", .usage)
        }
    }
}
