import TestSupport

/// The states of the disk that a power cut can leave, for one cut after the other.
///
/// What is pending at a cut are the operations that no synchronization has covered. What is on the
/// disk by then is kept between cuts, so that those in the order of their prefixes are cheap.
package struct CutDisk {
    private let recording: Recording
    /// From which prefix on an operation is on the disk; `nil`: never.
    private let durableFrom: [Int?]
    /// What the ignored synchronization would have brought to the disk.
    package let uncovered: Set<Int>
    private var base: Disk
    private var basePrefix = 0
    private var pending: [Int] = []

    /// - Parameter ignored: The place of a synchronization that the disk ignores.
    package init(_ recording: Recording, ignoring ignored: Int? = nil) {
        self.recording = recording
        durableFrom = Self.durableFrom(recording, ignoring: ignored)
        uncovered =
            ignored.map { ignored in
                let complete = Self.durableFrom(recording, ignoring: nil)
                return Set(complete.indices.filter { complete[$0] == ignored + 1 })
            } ?? []
        base = Disk(recording)
    }

    private static func durableFrom(_ recording: Recording, ignoring ignored: Int?) -> [Int?] {
        var durableFrom = [Int?](repeating: nil, count: recording.operations.count)
        for (index, sync) in recording.operations.enumerated() where index != ignored {
            let end: Int
            let file: Int?
            switch sync.kind {
            case .syncFile(let number, let begin): (file, end) = (number, begin)
            case .syncFolder(let begin): (file, end) = (nil, begin)
            default: continue
            }
            for place in 0..<min(end, index) where durableFrom[place] == nil {
                let operation = recording.operations[place]
                if operation.isChange, operation.changedFile == file {
                    durableFrom[place] = index + 1
                }
            }
        }
        return durableFrom
    }

    /// Goes to a cut after so many operations.
    package mutating func move(to prefix: Int) {
        if prefix < basePrefix {
            base = Disk(recording)
            basePrefix = 0
            pending = []
        }
        while basePrefix < prefix {
            if recording.operations[basePrefix].isChange { pending.append(basePrefix) }
            basePrefix += 1
            var rest: [Int] = []
            for index in pending {
                if let from = durableFrom[index], from <= basePrefix {
                    base.apply(recording.operations[index])
                } else {
                    rest.append(index)
                }
            }
            pending = rest
        }
    }

    /// What may be lost at this cut, one by one and in random sets.
    ///
    /// - Parameters:
    ///   - randomCount: How many random sets.
    ///   - seed: What they are made of.
    package func losses(randomCount: Int, seed: UInt64) -> [Cut.Loss] {
        var losses: [Cut.Loss] = [.nothing]
        guard let last = pending.last else { return losses }
        losses.append(.everything)
        if pending.count > 1 {
            losses += pending.map(Cut.Loss.only) + pending.map(Cut.Loss.allBut)
        }
        for index in pending {
            guard case .write = recording.operations[index].kind else { continue }
            losses += [.content(index), .size(index)]
        }
        // The last write is the one that the cut tears.
        if last == basePrefix - 1,
            case .write(_, let offset, let bytes) = recording.operations[last].kind
        {
            let count = Disk.sectors(offset, bytes.count).count
            for sectors in stride(from: 1, to: min(count, 64), by: 1) {
                losses += [.tail(sectors: sectors), .head(sectors: sectors)]
            }
        }
        var generator = SeededGenerator(seed: seed &+ UInt64(basePrefix) &* 0x1_0000_0001)
        losses += (0..<randomCount).map { _ in .random(seed: generator.next() >> 16) }
        return losses
    }

    /// What of ``uncovered`` may be lost at this cut: nothing, once a later synchronization covers
    /// it as well.
    private var pendingUncovered: [Int] { pending.filter(uncovered.contains) }

    package var hasPendingUncovered: Bool { pending.contains(where: uncovered.contains) }

    /// What may be lost at this cut because a synchronization was ignored.
    ///
    /// What shows that it was needed is mostly the loss of what it covers, while what came after
    /// it is kept. A random set of many operations is hardly ever that one.
    package func lossesOfUncovered(randomCount: Int, seed: UInt64) -> [Cut.Loss] {
        let count = pendingUncovered.count
        guard count > 0 else { return [] }
        var losses: [Cut.Loss] = [
            .uncovered, .uncoveredContent(filler: 0), .uncoveredContent(filler: 0xa5),
        ]
        for part in stride(from: 1, to: count, by: max(1, count / 8)) {
            losses += [.uncoveredTail(kept: part), .uncoveredHead(lost: part)]
        }
        return losses + randomLosses(randomCount: randomCount, seed: seed)
    }

    /// Random losses after an ignored synchronization, so many of each kind.
    package func randomLosses(randomCount: Int, seed: UInt64) -> [Cut.Loss] {
        var generator = SeededGenerator(seed: ~seed &+ UInt64(basePrefix) &* 0x1_0000_0001)
        return (0..<randomCount).flatMap { _ -> [Cut.Loss] in
            [
                .uncoveredPart(seed: generator.next() >> 16),
                .uncoveredAndRandom(seed: generator.next() >> 16),
                .random(seed: generator.next() >> 16),
            ]
        }
    }

    /// The files after a cut at this place.
    package func files(_ loss: Cut.Loss) -> [String: [UInt8]] {
        var disk = base
        let portions: [Disk.Portion]
        switch loss {
        case .everything: portions = pending.map { _ in .none }
        case .nothing: portions = pending.map { _ in .all }
        case .only(let lost): portions = pending.map { $0 == lost ? .none : .all }
        case .allBut(let kept): portions = pending.map { $0 == kept ? .all : .none }
        case .content(let index):
            portions = pending.map { $0 == index ? .part(sectors: 0, size: true) : .all }
        case .size(let index):
            portions = pending.map { $0 == index ? .part(sectors: .max, size: false) : .all }
        case .tail(let kept):
            let sectors: UInt64 = (1 << UInt64(kept)) - 1
            portions = pending.map {
                $0 == pending.last ? .part(sectors: sectors, size: true) : .all
            }
        case .head(let lost):
            let sectors = ~((1 << UInt64(lost)) - 1 as UInt64)
            portions = pending.map {
                $0 == pending.last ? .part(sectors: sectors, size: true) : .all
            }
        case .random(let seed):
            portions = Self.randomPortions(seed, of: pending, &disk)
        case .uncovered:
            portions = pending.map { uncovered.contains($0) ? .none : .all }
        case .uncoveredContent(let filler):
            disk.filler = filler
            portions = pending.map {
                uncovered.contains($0) ? .part(sectors: 0, size: true) : .all
            }
        case .uncoveredTail(let kept):
            let lost = Set(pendingUncovered.dropFirst(kept))
            portions = pending.map { lost.contains($0) ? .none : .all }
        case .uncoveredHead(let count):
            let lost = Set(pendingUncovered.prefix(count))
            portions = pending.map { lost.contains($0) ? .none : .all }
        case .uncoveredPart(let seed):
            let random = Self.randomPortions(seed, of: pending, &disk)
            portions = zip(pending, random).map { uncovered.contains($0) ? $1 : .all }
        case .uncoveredAndRandom(let seed):
            let random = Self.randomPortions(seed, of: pending, &disk)
            portions = zip(pending, random).map { uncovered.contains($0) ? .none : $1 }
        }
        for (index, portion) in zip(pending, portions) {
            disk.apply(recording.operations[index], portion)
        }
        return disk.files
    }

    private static func randomPortions(
        _ seed: UInt64,
        of pending: [Int],
        _ disk: inout Disk
    ) -> [Disk.Portion] {
        var generator = SeededGenerator(seed: seed)
        if generator.next() % 4 == 0 { disk.filler = UInt8(truncatingIfNeeded: seed) }
        let likelihood = [10, 30, 50, 70, 90][Int(generator.next() % 5)]
        let tears = generator.next() % 2 == 0
        return pending.map { _ in portion(&generator, likelihood: likelihood, tears: tears) }
    }

    private static func portion(
        _ generator: inout SeededGenerator,
        likelihood: Int,
        tears: Bool
    ) -> Disk.Portion {
        func happens() -> Bool { generator.next() % 100 < UInt64(likelihood) }
        guard tears else { return happens() ? .all : .none }
        let size = happens()
        switch generator.next() % 3 {
        case 0: return size ? .all : .none
        case 1: return .part(sectors: generator.next() & generator.next(), size: size)
        default: return .part(sectors: generator.next() | generator.next(), size: size)
        }
    }

    /// What the key store holds at this cut.
    package var keys: [UInt8] { everyKeys.last ?? [] }

    /// What the key store has held up to this cut, the oldest first.
    package var everyKeys: [[UInt8]] {
        [recording.initialKeys]
            + recording.operations[..<basePrefix].compactMap { operation in
                if case .keyStore(let content) = operation.kind { content } else { nil }
            }
    }
}
