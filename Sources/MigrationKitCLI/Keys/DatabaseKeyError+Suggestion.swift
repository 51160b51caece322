import KeyStore

extension DatabaseKeyError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        switch self {
        case .passphraseLooksLikeRawKey:
            """
            If it is a raw key, give the digits alone and add --raw-key. If it is a passphrase, \
            choose another.
            """
        default: recoverySuggestion
        }
    }
}

extension KeySourceError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        switch self {
        case .unusableKey(_, let reason): reason.suggestion(program: program)
        default: recoverySuggestion
        }
    }
}
