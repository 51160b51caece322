/// The stores that come first. The others follow only if all of these went well.
public enum Canary: Equatable, Sendable {
    /// The first stores of the list, this many.
    case count(Int)

    /// Those of a group.
    case group(String)

    /// The canaries, and the others, each in the order of the list.
    func split(_ stores: [FleetStore]) -> (first: [FleetStore], rest: [FleetStore]) {
        switch self {
        case .count(let count):
            (Array(stores.prefix(count)), Array(stores.dropFirst(count)))
        case .group(let name):
            (stores.filter { $0.group == name }, stores.filter { $0.group != name })
        }
    }
}
