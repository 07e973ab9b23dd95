// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// What `make prove` proves about the compiled PrivacyLedger, one function each; docs/reference/contract.md explains them.
// `claim_` must hold for all values, `false_` must be refuted: a proof that cannot fail proves nothing.
//
// Each starts from any state that keeps the invariant (`keeps`), under any terms that the constructor accepts. Every other word of
// the storage is arbitrary. Conditions are added up in `wrong` without branches, which keeps the paths few.

import {CREATION, CUSTODIAN, HEIR, WORKER, ALLOWANCE, NONCE, EDITIONS, OPENED, TILLS} from "./Artifact.sol";
import {METERS, LATER_METERS, CEILINGS, REACHES, POINTS, DIGESTS, ENDS} from "./Artifact.sol";

interface Vm {
    function assume(bool) external;
    function prank(address) external;
    function load(address, bytes32) external view returns (bytes32);
    function store(address, bytes32, bytes32) external;
}

interface Svm {
    function createUint256(string memory) external returns (uint256);
    function createBytes32(string memory) external returns (bytes32);
    function createAddress(string memory) external returns (address);
    function createBool(string memory) external returns (bool);
    function createBytes(uint256, string memory) external returns (bytes memory);
    function enableSymbolicStorage(address) external;
}

interface Ledger {
    struct Terms {
        bytes32 commitment;
        uint256 rows;
        bool replaces;
        bool reuses;
        bool requiresAllowance;
        uint256 budget;
        uint256 smallest;
        uint256 epsilon;
        uint256 delta;
        uint256 zones;
        bytes32 zoneList;
    }

    struct Request {
        bytes32 query;
        uint256 edition;
        uint256 precision;
        uint256 epsilon;
        uint256 delta;
    }

    struct Stretch {
        bytes32 query;
        uint256 edition;
        uint256 start;
        uint256 end;
    }

    function open_edition(bytes32, uint256) external;
    function retire(uint256) external;
    function register(string memory, uint256, uint256, uint256, uint256, uint256) external;
    function ask(Request[] memory, uint256) external;
    function ask_signed(Request[] memory, uint256, uint256, address, bytes memory) external;
    function reveal(Stretch[] memory, int256[] memory) external;
    function reveal_piece(Stretch memory, uint256, int256[] memory) external;
    function allow(address, int256) external;
    function pause(bool) external;
    function pause_query(bytes32, bool) external;
    function close() external;
    function change_worker(address) external;
    function offer_custody(address) external;
    function take_custody() external;
}

// A contract wallet (ERC-1271) that answers anything.
contract Wallet {
    bytes32 private answer;

    constructor(bytes32 given) {
        answer = given;
    }

    fallback() external {
        bytes32 given = answer;
        assembly {
            mstore(0, given)
            return(0, 32)
        }
    }
}

contract Claims {
    Vm private constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    Svm private constant svm = Svm(0xF3993A62377BCd56AE39D773740A5390411E8BC9);
    uint256 private constant MAX = 2 ** 110 - 1;
    uint256 private constant SELLING = 2 ** 255;
    uint256 private constant CLOSED = 2 ** 254;
    uint256 private constant OPEN = 2 ** 253;
    uint256 private constant PAUSED = 2 ** 255;
    uint256 private constant SELECTIVE = 2 ** 254;
    uint256 private constant LIMITED = 2 ** 253;
    uint256 private constant STORED = 8;

    // Everything that functions may write: of one query in one edition and any other, one analyst and any other.
    struct State {
        uint256 custodian;
        uint256 heir;
        uint256 worker;
        uint256 editions;
        uint256 first; // the till with the bits that say whether precision is sold
        uint256 till; // of zones 0 and 1 of the edition
        uint256 till2; // of zones 2 and 3
        uint256 meter; // in the first edition
        uint256 later; // in the edition, if it is not the first
        uint256 ceiling;
        uint256 reach;
        uint256 commitment;
        uint256 rows;
        uint256 allowance;
        uint256 nonce;
        uint256 point;
        uint256 digest;
        uint256 end;
        uint256[11] others;
    }

    address private ledger;
    Ledger.Terms private terms;
    bytes32 private list;
    bytes32 private query;
    bytes32 private other;
    uint256 private edition;
    address private analyst;
    address private stranger;
    uint256 private coordinate;
    // Another till, and another path: of another query, or in another edition.
    uint256 private otherTill;
    bytes32 private otherQuery;
    uint256 private otherEdition;
    uint256 private otherCoordinate;

    function setUp() public {
        list = svm.createBytes32("list of zones");
        terms = Ledger.Terms(
            svm.createBytes32("commitment"),
            svm.createUint256("rows"),
            svm.createBool("replaces"),
            svm.createBool("reuses"),
            svm.createBool("requires_allowance"),
            svm.createUint256("budget"),
            svm.createUint256("smallest"),
            svm.createUint256("epsilon"),
            svm.createUint256("delta"),
            svm.createUint256("zones"),
            sha256(abi.encodePacked(list))
        );
        query = svm.createBytes32("query");
        other = svm.createBytes32("other query");
        edition = svm.createUint256("edition");
        analyst = svm.createAddress("analyst");
        stranger = svm.createAddress("other analyst");
        coordinate = svm.createUint256("coordinate");
        otherTill = svm.createUint256("other till");
        otherQuery = svm.createBytes32("query of the other path");
        otherEdition = svm.createUint256("edition of the other path");
        otherCoordinate = svm.createUint256("coordinate of the other path");
    }

    function publish(address worker) private {
        bytes memory code = bytes.concat(CREATION, abi.encode(terms, string(abi.encodePacked(list)), worker));
        address created;
        assembly {
            created := create(0, add(code, 32), mload(code))
        }
        vm.assume(created != address(0));
        ledger = created;
    }

    // --- reading the state

    function put(uint256 slot, uint256 value) private {
        vm.store(ledger, bytes32(slot), bytes32(value));
    }

    function get(bytes32 slot) private view returns (uint256) {
        return uint256(vm.load(ledger, slot));
    }

    function at(uint256 slot, bytes32 key) private view returns (uint256) {
        return get(keccak256(abi.encode(slot, key)));
    }

    function at2(uint256 slot, uint256 number, bytes32 key) private pure returns (bytes32) {
        return keccak256(abi.encode(keccak256(abi.encode(slot, number)), key));
    }

    function pointAt(uint256 number, bytes32 path, uint256 j) private view returns (uint256) {
        unchecked {
            return get(bytes32(uint256(at2(POINTS, number, path)) + j));
        }
    }

    // The edition's first till. Editions with larger numbers have none, and stand for a till that no function reaches.
    function place(uint256 number) private pure returns (uint256) {
        unchecked {
            uint256 exists = mask(number < 2 ** 249);
            return ((128 * number) & exists) | ((type(uint256).max - 1) & ~exists);
        }
    }

    function read() private view returns (State memory s) {
        s.custodian = get(bytes32(CUSTODIAN));
        s.heir = get(bytes32(HEIR));
        s.worker = get(bytes32(WORKER));
        s.editions = get(bytes32(EDITIONS));
        s.first = at(TILLS, 0);
        s.till = at(TILLS, bytes32(place(edition)));
        s.till2 = at(TILLS, bytes32(place(edition) | 1));
        s.meter = at(METERS, query);
        s.later = get(at2(LATER_METERS, edition, query));
        s.ceiling = at(CEILINGS, query);
        s.reach = at(REACHES, query);
        bytes32 opened = keccak256(abi.encode(OPENED, edition));
        s.commitment = get(opened);
        unchecked {
            s.rows = get(bytes32(uint256(opened) + 1));
        }
        s.allowance = at(ALLOWANCE, bytes32(uint256(uint160(analyst))));
        s.nonce = at(NONCE, bytes32(uint256(uint160(analyst))));
        s.point = pointAt(edition, query, coordinate);
        s.digest = get(at2(DIGESTS, edition, query));
        s.end = get(at2(ENDS, edition, query));
        s.others = [
            at(TILLS, bytes32(otherTill)),
            at(METERS, other),
            get(at2(LATER_METERS, otherEdition, otherQuery)),
            at(CEILINGS, other),
            at(REACHES, other),
            at(ALLOWANCE, bytes32(uint256(uint160(stranger)))),
            at(NONCE, bytes32(uint256(uint160(stranger)))),
            pointAt(otherEdition, otherQuery, otherCoordinate),
            get(at2(DIGESTS, otherEdition, otherQuery)),
            get(at2(ENDS, otherEdition, otherQuery)),
            get(keccak256(abi.encode(OPENED, otherEdition)))
        ];
    }

    function bought(uint256 meter) private pure returns (uint256) {
        return meter & MAX;
    }

    function revealed(uint256 meter) private pure returns (uint256) {
        return (meter >> 110) & MAX;
    }

    // How many numbers of the next stretch were revealed.
    function done(uint256 meter) private pure returns (uint256) {
        return (meter >> 220) & (2 ** 16 - 1);
    }

    function dimension(uint256 meter) private pure returns (uint256) {
        return (meter << 3) >> 239;
    }

    // What a zone has spent; which of its edition's tills has it is the caller's to say.
    function spent(uint256 till, uint256 zone) private pure returns (uint256) {
        return (till >> (110 * (zone % 2))) & MAX;
    }

    // The meter of the query in the edition.
    function path(State memory s) private view returns (uint256) {
        uint256 later = mask(edition != 0);
        return (s.meter & ~later) | (s.later & later);
    }

    // --- conditions without branches: 1 where true

    function is1(bool a) private pure returns (uint256 r) {
        assembly {
            r := a
        }
    }

    function not(bool a) private pure returns (uint256) {
        return is1(a) ^ 1;
    }

    // All bits where true, none where false.
    function mask(bool a) private pure returns (uint256) {
        unchecked {
            return 0 - is1(a);
        }
    }

    function differ(uint256 a, uint256 b) private pure returns (uint256) {
        return a ^ b;
    }

    // An unknown query has no meter; a known one has a dimension, a reach, and no ceiling or one in range.
    function isQuery(State memory s) private view returns (uint256) {
        uint256 d = dimension(s.meter);
        uint256 ok = is1(d != 0) & is1(d <= 65536) & is1(reached(s) != 0) & is1(reached(s) <= everything());
        return is1(s.meter == 0) | (ok & (is1(s.meter & LIMITED == 0) | is1(s.ceiling <= MAX)));
    }

    // It is revealed no further than it is bought, a small answer never in part, and a stretch in pieces ends where it was bought.
    function isPath(State memory s) private view returns (uint256) {
        unchecked {
            uint256 m = path(s);
            uint256 d = dimension(s.meter);
            uint256 ok = is1(revealed(m) <= bought(m)) & (is1(edition == 0) | is1(m >> 236 == 0)) & (is1(s.meter != 0) | is1(m == 0));
            ok &= is1(done(m) == 0) | (is1(done(m) < d) & is1(d > STORED) & is1(revealed(m) < s.end) & is1(s.end <= bought(m)));
            return ok & (is1(done(m) != 0) | is1(s.end == 0));
        }
    }

    // Every zone has spent at most the budget; an edition that was not opened has spent nothing; no other bits.
    function fits(State memory s) private view returns (uint256) {
        uint256 ok = is1(spent(s.till, 0) <= terms.budget) & is1(spent(s.till, 1) <= terms.budget);
        ok &= is1(spent(s.till2, 0) <= terms.budget) & is1(spent(s.till2, 1) <= terms.budget);
        ok &= is1(s.first & (SELLING | CLOSED) != SELLING | CLOSED) & is1(s.editions != 0);
        ok &= is1((s.till >> 220) & (2 ** 33 - 1) == 0) & (is1(edition == 0) | is1(s.till & (SELLING | CLOSED) == 0));
        return ok & is1(s.till2 >> 220 == 0) & (is1(edition < s.editions) | is1(s.till | s.till2 == 0));
    }

    function everything() private view returns (uint256) {
        unchecked {
            return type(uint256).max >> (256 - terms.zones);
        }
    }

    // The zones that the query reaches, one bit each.
    function reached(State memory s) private view returns (uint256) {
        uint256 some = mask(s.meter & SELECTIVE != 0);
        return (s.reach & some) | (everything() & ~some);
    }

    function keeps(State memory s) private view returns (uint256) {
        return isQuery(s) & isPath(s) & fits(s);
    }

    function start(uint256 zones) private returns (State memory) {
        terms.zones = zones;
        return start();
    }

    function start() private returns (State memory s) {
        publish(svm.createAddress("first worker"));
        svm.enableSymbolicStorage(ledger);
        put(CUSTODIAN, uint160(svm.createAddress("custodian")));
        put(HEIR, uint160(svm.createAddress("heir")));
        put(WORKER, uint160(svm.createAddress("worker")));
        put(EDITIONS, svm.createUint256("editions"));
        vm.assume(query != other);
        vm.assume(analyst != stranger);
        vm.assume(is1(otherQuery != query) | is1(otherEdition != edition) == 1);
        vm.assume(is1(otherTill != place(edition)) & is1(otherTill != place(edition) | 1) == 1);
        vm.assume(is1(coordinate < STORED) & is1(otherCoordinate < STORED) == 1);
        s = read();
        vm.assume(keeps(s) == 1);
    }

    // --- what a function leaves alone; the claims take out what it may change

    function changedRoles(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.custodian, t.custodian) | differ(s.heir, t.heir) | differ(s.worker, t.worker);
    }

    function changedOthers(State memory s, State memory t) private view returns (uint256 wrong) {
        // The till with number 0 is another one, too, and has the bits that say whether precision is sold.
        wrong = differ(s.others[0], t.others[0]) & mask(otherTill != 0);
        for (uint256 i = 1; i < 10; i++) {
            wrong |= differ(s.others[i], t.others[i]);
        }
        wrong |= differ(s.others[10], t.others[10]) & mask(otherEdition != edition);
    }

    function changedEditions(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.editions, t.editions) | differ(s.commitment, t.commitment) | differ(s.rows, t.rows);
    }

    function changedTills(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.first, t.first) | differ(s.till, t.till) | differ(s.till2, t.till2);
    }

    function changedMeters(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.meter, t.meter) | differ(s.later, t.later);
    }

    // What was registered.
    function changedQuery(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.ceiling, t.ceiling) | differ(s.reach, t.reach);
    }

    // What was revealed.
    function changedAnswer(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.point, t.point) | differ(s.digest, t.digest) | differ(s.end, t.end);
    }

    function changedAnalyst(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.allowance, t.allowance) | differ(s.nonce, t.nonce);
    }

    // Apart from roles, tills and meters.
    function changedRest(State memory s, State memory t) private view returns (uint256) {
        return changedOthers(s, t) | changedEditions(s, t) | changedQuery(s, t) | changedAnswer(s, t) | changedAnalyst(s, t);
    }

    function changed(State memory s, State memory t) private view returns (uint256) {
        return changedRoles(s, t) | changedTills(s, t) | changedMeters(s, t) | changedRest(s, t);
    }

    // --- the beginning: nothing is bought, revealed, allowed or signed

    function claim_published(address worker) external {
        publish(worker);
        State memory t = read();
        uint256 first = is1(edition == 0);
        uint256 wrong = differ(t.first, SELLING | OPEN) | t.heir | differ(t.editions, 1) | (fits(t) ^ 1);
        wrong |= differ(t.till, first * (SELLING | OPEN)) | differ(t.till2, 0);
        wrong |= differ(t.commitment, first * uint256(terms.commitment)) | differ(t.rows, first * terms.rows);
        wrong |= t.meter | t.later | t.ceiling | t.reach | t.allowance | t.nonce | t.point | t.digest | t.end;
        wrong |= differ(t.custodian, uint160(address(this))) | differ(t.worker, uint160(worker)) | not(worker != address(0));
        wrong |= not(terms.budget != 0) | not(terms.budget <= MAX) | not(terms.smallest <= terms.budget);
        assert(wrong | not(terms.zones != 0) | not(terms.zones <= 256) == 0);
    }

    function false_published_never_succeeds(address worker) external {
        publish(worker);
        assert(ledger == address(0));
    }

    // --- ask

    struct Wanted {
        uint256 precision;
        uint256 epsilon;
        uint256 delta;
        uint256 limit;
    }

    function requests(Wanted memory given) private view returns (Ledger.Request[] memory all) {
        all = new Ledger.Request[](1);
        all[0] = Ledger.Request(query, edition, given.precision, given.epsilon, given.delta);
    }

    // Each zone that is reached pays the cost, never beyond the budget; the others pay nothing, and no other bit changes.
    function wrongCharge(State memory s, State memory t, uint256 cost) private view returns (uint256 wrong) {
        unchecked {
            wrong = differ(t.till >> 220, s.till >> 220) | differ(t.till2 >> 220, s.till2 >> 220);
            wrong |= mask(edition != 0) & differ(s.first, t.first);
            for (uint256 zone = 0; zone < 4; zone++) {
                uint256 before = spent(zone < 2 ? s.till : s.till2, zone);
                uint256 now_ = spent(zone < 2 ? t.till : t.till2, zone);
                uint256 pays = (reached(s) >> zone) & 1;
                wrong |= differ(now_ - before, pays * cost) | not(now_ >= before) | not(now_ <= terms.budget);
            }
        }
    }

    // What one purchase may do: `wrong` is 0 if it does that and nothing else.
    function wrongSale(State memory s, State memory t, uint256 precision, uint256 limit) private view returns (uint256 wrong) {
        unchecked {
            uint256 m = path(s);
            uint256 n = path(t);
            // What was bought, as long as the bits above it stay: that is the first thing that is checked.
            uint256 cost = n - m;
            wrong = differ(n >> 110, m >> 110) | not(cost <= MAX) | (mask(edition != 0) & differ(s.meter, t.meter));
            wrong |= mask(edition == 0) & differ(s.later, t.later);
            wrong |= wrongCharge(s, t, cost) | not(cost <= limit) | not(revealed(m) <= bought(n)) | (keeps(t) ^ 1);
            // Selling, not closed, a known query that is not paused, an edition that is open.
            wrong |= not(s.first & (SELLING | CLOSED) == SELLING) | not(s.meter != 0) | not(s.meter < PAUSED);
            wrong |= is1(cost != 0) & not(s.till & OPEN != 0);
            // The allowance pays, where one is required.
            wrong |= is1(terms.requiresAllowance) & (not(cost <= s.allowance) | not(t.allowance == s.allowance - cost));
            wrong |= not(terms.requiresAllowance) & not(t.allowance == s.allowance);
            wrong |= wrongPrice(s, cost, precision) | changedRoles(s, t) | changedOthers(s, t) | changedEditions(s, t);
            wrong |= changedQuery(s, t) | changedAnswer(s, t);
        }
    }

    // The price: free up to what was bought, if answers are reused; else at least the smallest purchase.
    function wrongPrice(State memory s, uint256 cost, uint256 precision) private view returns (uint256 wrong) {
        unchecked {
            uint256 before = bought(path(s));
            uint256 free = is1(terms.reuses) & is1(precision <= before);
            wrong = free & not(cost == 0);
            wrong |= (free ^ 1) & (not(cost != 0) | not(cost >= terms.smallest));
            wrong |= (free ^ 1) & is1(terms.reuses) & not(before + cost >= precision);
            wrong |= (free ^ 1) & not(terms.reuses) & not(cost >= precision);
            wrong |= (free ^ 1) & is1(s.meter & LIMITED != 0) & not(before + cost <= s.ceiling);
        }
    }

    function ask(Wanted memory given) private returns (bool ok) {
        bytes memory call = abi.encodeCall(Ledger.ask, (requests(given), given.limit));
        vm.prank(analyst);
        (ok,) = ledger.call(call);
    }

    function checkAsk(State memory s, Wanted memory given) private {
        bool ok = ask(given);
        State memory t = read();
        if (ok) assert(wrongSale(s, t, given.precision, given.limit) | differ(s.nonce, t.nonce) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_of_one_zone(Wanted memory given) external {
        checkAsk(start(1), given);
    }

    function claim_ask_of_two_zones(Wanted memory given) external {
        checkAsk(start(2), given);
    }

    function claim_ask_of_three_zones(Wanted memory given) external {
        checkAsk(start(3), given);
    }

    function claim_ask_for_nothing(uint256 limit) external {
        State memory s = start();
        bytes memory call = abi.encodeCall(Ledger.ask, (new Ledger.Request[](0), limit));
        vm.prank(analyst);
        (bool ok,) = ledger.call(call);
        ok;
        assert(changed(s, read()) == 0);
    }

    function claim_ask_never_succeeds_after_close(Wanted memory given) external {
        State memory s = start(1);
        vm.assume(s.first & CLOSED != 0);
        assert(!ask(given));
    }

    function claim_ask_never_costs_after_retire(Wanted memory given) external {
        State memory s = start(1);
        vm.assume(s.till & OPEN == 0);
        ask(given);
        assert(changedTills(s, read()) == 0);
    }

    function false_ask_never_succeeds(Wanted memory given) external {
        start(1);
        assert(!ask(given));
    }

    function false_ask_never_costs(Wanted memory given) external {
        State memory s = start(1);
        ask(given);
        assert(read().till == s.till);
    }

    function false_ask_never_costs_in_a_later_edition(Wanted memory given) external {
        State memory s = start(1);
        vm.assume(edition != 0);
        ask(given);
        assert(read().till == s.till);
    }

    function false_ask_always_charges_both_zones(Wanted memory given) external {
        State memory s = start(2);
        ask(given);
        State memory t = read();
        assert(spent(t.till, 0) - spent(s.till, 0) == spent(t.till, 1) - spent(s.till, 1));
    }

    function false_ask_leaves_some_budget(Wanted memory given) external {
        State memory s = start(1);
        vm.assume(spent(s.till, 0) < terms.budget);
        ask(given);
        assert(spent(read().till, 0) < terms.budget);
    }

    // --- ask_signed

    struct Signed {
        Wanted wanted;
        uint256 deadline;
    }

    function askSigned(Signed memory given, bytes memory signature) private returns (bool ok) {
        Ledger.Request[] memory all = requests(given.wanted);
        bytes memory call = abi.encodeCall(Ledger.ask_signed, (all, given.wanted.limit, given.deadline, analyst, signature));
        vm.prank(stranger);
        (ok,) = ledger.call(call);
    }

    function wrongSigned(State memory s, State memory t, Signed memory given) private view returns (uint256) {
        unchecked {
            return wrongSale(s, t, given.wanted.precision, given.wanted.limit) | not(t.nonce == s.nonce + 1) | not(t.nonce != 0)
                | not(block.timestamp <= given.deadline);
        }
    }

    // What EIP-712 says must be signed, worked out here once more.
    function digest(Signed memory given, uint256 nonce) private view returns (bytes32) {
        bytes memory request = "Request(bytes32 query,uint256 edition,uint256 precision,uint256 epsilon,uint256 delta)";
        bytes32 one = keccak256(
            abi.encode(keccak256(request), query, edition, given.wanted.precision, given.wanted.epsilon, given.wanted.delta)
        );
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("noiseledger"),
                keccak256("2"),
                block.chainid,
                ledger
            )
        );
        bytes32 kind = keccak256(bytes.concat("Ask(Request[] requests,uint256 limit,uint256 nonce,uint256 deadline)", request));
        bytes32 message = keccak256(abi.encode(kind, keccak256(abi.encode(one)), given.wanted.limit, nonce, given.deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    function claim_ask_signed_by_a_key(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start(1);
        vm.assume(analyst.code.length == 0);
        bool ok = askSigned(given, abi.encodePacked(r, s_, v));
        State memory t = read();
        if (ok) assert(wrongSigned(s, t, given) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_signed_needs_the_signature(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start(1);
        vm.assume(analyst.code.length == 0);
        if (askSigned(given, abi.encodePacked(r, s_, v))) {
            assert(not(ecrecover(digest(given, s.nonce), v, r, s_) == analyst) | not(analyst != address(0)) == 0);
        }
    }

    function claim_ask_signed_by_a_contract(Signed memory given, bytes32 answer, bytes32 signature) external {
        analyst = address(new Wallet(answer));
        State memory s = start(1);
        bool ok = askSigned(given, abi.encode(signature));
        State memory t = read();
        if (ok) assert(wrongSigned(s, t, given) | not(answer == bytes32(bytes4(0x1626ba7e))) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_signed_never_succeeds_after_close(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start(1);
        vm.assume(analyst.code.length == 0);
        vm.assume(s.first & CLOSED != 0);
        assert(!askSigned(given, abi.encodePacked(r, s_, v)));
    }

    function false_ask_signed_by_a_key_never_succeeds(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        start(1);
        vm.assume(analyst.code.length == 0);
        assert(!askSigned(given, abi.encodePacked(r, s_, v)));
    }

    function false_ask_signed_by_a_contract_never_succeeds(Signed memory given, bytes32 answer, bytes32 signature) external {
        analyst = address(new Wallet(answer));
        start(1);
        assert(!askSigned(given, abi.encode(signature)));
    }

    // --- reveal

    function reveal(address sender, uint256 from, uint256 to, int256[] memory increments) private returns (bool ok) {
        Ledger.Stretch[] memory all = new Ledger.Stretch[](1);
        all[0] = Ledger.Stretch(query, edition, from, to);
        bytes memory call = abi.encodeCall(Ledger.reveal, (all, increments));
        vm.prank(sender);
        (ok,) = ledger.call(call);
    }

    // Only by the worker, forward only, from where the path ends, to no more than was bought. Nothing is spent or bought.
    function wrongReveal(State memory s, State memory t, address sender, uint256 from, uint256 to)
        private
        view
        returns (uint256 wrong)
    {
        uint256 m = path(s);
        uint256 n = path(t);
        wrong = not(uint160(sender) == s.worker) | not(s.meter != 0) | (keeps(t) ^ 1);
        wrong |= differ(from, revealed(m)) | not(from < to) | not(to <= bought(n)) | differ(bought(m), bought(n));
        wrong |= differ(m >> 236, n >> 236) | (mask(edition != 0) & differ(s.meter, t.meter));
        wrong |= (mask(edition == 0) & differ(s.later, t.later)) | changedRoles(s, t) | changedOthers(s, t);
        wrong |= changedTills(s, t) | changedEditions(s, t) | changedQuery(s, t) | changedAnalyst(s, t);
    }

    function checkReveal(address sender, uint256 from, uint256 to, int256[] memory increments) private {
        State memory s = start();
        bool ok = reveal(sender, from, to, increments);
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 wrong = wrongReveal(s, t, sender, from, to) | differ(to, revealed(path(t))) | done(path(t));
        wrong |= differ(dimension(s.meter), increments.length) | differ(s.digest, t.digest) | differ(s.end, t.end);
        // Each coordinate of the point moves by its increment, every other word stays.
        uint256 move;
        for (uint256 j = 0; j < increments.length; j++) {
            unchecked {
                move += is1(coordinate == j) * uint256(increments[j]);
            }
        }
        unchecked {
            wrong |= differ(t.point, s.point + move);
        }
        assert(wrong == 0);
    }

    function claim_reveal_one_number(address sender, uint256 from, uint256 to, int256 a) external {
        int256[] memory increments = new int256[](1);
        increments[0] = a;
        checkReveal(sender, from, to, increments);
    }

    function claim_reveal_two_numbers(address sender, uint256 from, uint256 to, int256 a, int256 b) external {
        int256[] memory increments = new int256[](2);
        (increments[0], increments[1]) = (a, b);
        checkReveal(sender, from, to, increments);
    }

    function false_reveal_never_succeeds(address sender, uint256 from, uint256 to, int256 a) external {
        start();
        int256[] memory increments = new int256[](1);
        increments[0] = a;
        assert(!reveal(sender, from, to, increments));
    }

    // --- reveal_piece

    struct Piece {
        uint256 from;
        uint256 to;
        uint256 first;
    }

    function revealPiece(address sender, Piece memory given, int256[] memory increments) private returns (bool ok) {
        Ledger.Stretch memory stretch = Ledger.Stretch(query, edition, given.from, given.to);
        bytes memory call = abi.encodeCall(Ledger.reveal_piece, (stretch, given.first, increments));
        vm.prank(sender);
        (ok,) = ledger.call(call);
    }

    function checkPiece(address sender, Piece memory given, int256[] memory increments) private {
        State memory s = start();
        bool ok = revealPiece(sender, given, increments);
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 m = path(s);
        uint256 n = path(t);
        uint256 wrong = wrongReveal(s, t, sender, given.from, given.to) | not(dimension(s.meter) > STORED);
        unchecked {
            // The next coordinates, up to the end that the first piece named; revealed with the last one.
            uint256 last = given.first + increments.length;
            uint256 ends = is1(last == dimension(s.meter));
            wrong |= differ(given.first, done(m)) | not(last <= dimension(s.meter));
            wrong |= is1(given.first != 0) & not(given.to == s.end);
            wrong |= ends & (not(revealed(n) == given.to) | not(done(n) == 0) | not(t.end == 0));
            wrong |= (ends ^ 1) & (not(revealed(n) == given.from) | not(done(n) == last) | not(t.end == given.to));
        }
        uint256 before = s.digest | (is1(s.digest == 0) * uint256(query));
        wrong |= differ(t.digest, uint256(keccak256(abi.encode(before, given.to, given.first, increments))));
        assert(wrong | differ(s.point, t.point) == 0);
    }

    function claim_reveal_piece_of_one_number(address sender, Piece memory given, int256 a) external {
        int256[] memory increments = new int256[](1);
        increments[0] = a;
        checkPiece(sender, given, increments);
    }

    function claim_reveal_piece_of_two_numbers(address sender, Piece memory given, int256 a, int256 b) external {
        int256[] memory increments = new int256[](2);
        (increments[0], increments[1]) = (a, b);
        checkPiece(sender, given, increments);
    }

    function claim_reveal_piece_of_nothing(address sender, Piece memory given) external {
        start();
        assert(!revealPiece(sender, given, new int256[](0)));
    }

    function false_reveal_piece_never_succeeds(address sender, Piece memory given, int256 a) external {
        start();
        int256[] memory increments = new int256[](1);
        increments[0] = a;
        assert(!revealPiece(sender, given, increments));
    }

    function false_reveal_piece_never_ends_a_stretch(address sender, Piece memory given, int256 a) external {
        State memory s = start();
        int256[] memory increments = new int256[](1);
        increments[0] = a;
        revealPiece(sender, given, increments);
        assert(revealed(path(read())) == revealed(path(s)));
    }

    // --- what the custodian does

    function send(address sender, bytes memory call) private returns (bool ok) {
        vm.prank(sender);
        (ok,) = ledger.call(call);
    }

    function claim_open_edition(address sender, bytes32 commitment, uint256 rows) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.open_edition, (commitment, rows)));
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        // The next edition is open and has spent nothing, before and after; every other one stays as it is.
        uint256 next = is1(edition == s.editions);
        uint256 wrong = not(uint160(sender) == s.custodian) | not(s.first & CLOSED == 0) | (keeps(t) ^ 1);
        unchecked {
            wrong |= not(t.editions == s.editions + 1) | not(t.editions != 0);
        }
        wrong |= next & (not(s.till | s.till2 == 0) | not(t.till == OPEN) | not(t.commitment == uint256(commitment)) | not(t.rows == rows));
        wrong |= (next ^ 1) & (not(s.till == t.till) | not(s.commitment == t.commitment) | not(s.rows == t.rows));
        wrong |= differ(s.till2, t.till2) | differ(s.first, t.first) | changedMeters(s, t) | changedQuery(s, t) | changedAnswer(s, t);
        wrong |= changedAnalyst(s, t) | changedRoles(s, t);
        // Another till and another edition change only where they are the new one's.
        wrong |= is1(otherTill != place(s.editions)) & not(s.others[0] == t.others[0]);
        wrong |= is1(otherEdition != s.editions) & not(s.others[10] == t.others[10]);
        for (uint256 i = 1; i < 10; i++) {
            wrong |= differ(s.others[i], t.others[i]);
        }
        assert(wrong == 0);
    }

    function claim_retire(address sender) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.retire, (edition)));
        State memory t = read();
        uint256 wrong = changedRoles(s, t) | changedMeters(s, t) | changedRest(s, t) | differ(s.till2, t.till2);
        if (!ok) assert(wrong | changedTills(s, t) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.till & OPEN != 0) | differ(t.till, s.till & ~OPEN)
                | (mask(edition != 0) & differ(s.first, t.first)) | (keeps(t) ^ 1) == 0
        );
    }

    function false_open_edition_never_succeeds(address sender, bytes32 commitment, uint256 rows) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.open_edition, (commitment, rows))));
    }

    function false_retire_never_succeeds(address sender) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.retire, (edition))));
    }

    // Dimension, numerator, denominator, reach and ceiling.
    function register(address sender, bytes32 definition, uint256[5] memory n) private returns (bool) {
        string memory text = string(abi.encodePacked(definition));
        return send(sender, abi.encodeCall(Ledger.register, (text, n[0], n[1], n[2], n[3], n[4])));
    }

    function claim_register(address sender, bytes32 definition, uint256[5] memory n) external {
        query = sha256(abi.encodePacked(definition));
        State memory s = start();
        // The first edition's hash is this query's, whatever edition the claim looks at.
        vm.assume(otherQuery != query);
        // What is kept by query is written once, when it is registered.
        vm.assume(is1(s.meter != 0) | is1(s.ceiling | s.reach == 0) == 1);
        bool ok = register(sender, definition, n);
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 wrong = not(uint160(sender) == s.custodian) | not(s.first & CLOSED == 0) | differ(s.meter, 0) | (keeps(t) ^ 1);
        wrong |= bought(t.meter) | revealed(t.meter) | done(t.meter) | differ(dimension(t.meter), n[0]);
        wrong |= not(t.meter != 0) | not(t.meter < PAUSED) | differ(t.ceiling, n[4]) | not(n[4] <= MAX);
        wrong |= differ(is1(t.meter & LIMITED != 0), is1(n[4] != 0)) | differ(reached(t), n[3]);
        wrong |= changedTills(s, t) | differ(s.later, t.later) | changedEditions(s, t) | changedRoles(s, t) | changedAnalyst(s, t);
        wrong |= differ(s.point, t.point) | differ(s.end, t.end);
        // The chain of hashes of a large answer begins in the first edition.
        uint256 begins = is1(edition == 0) & is1(n[0] > STORED);
        wrong |= (begins & not(t.digest == uint256(query))) | ((begins ^ 1) & not(t.digest == s.digest));
        wrong |= changedOthers(s, t);
        assert(wrong == 0);
    }

    function false_register_never_succeeds(address sender, bytes32 definition, uint256[5] memory n) external {
        query = sha256(abi.encodePacked(definition));
        start();
        assert(!register(sender, definition, n));
    }

    function claim_allow(address sender, int256 change) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.allow, (analyst, change)));
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 wrong;
        unchecked {
            uint256 sum = s.allowance + uint256(change);
            wrong = not(uint160(sender) == s.custodian) | differ(s.allowance >> 255, 0);
            wrong |= mask(int256(sum) >= 0) & differ(t.allowance, sum);
            wrong |= mask(int256(sum) < 0) & differ(t.allowance, 0);
            wrong |= is1(change >= 0) & not(t.allowance >= s.allowance);
            wrong |= is1(change <= 0) & not(t.allowance <= s.allowance);
        }
        wrong |= changedRoles(s, t) | changedTills(s, t) | changedMeters(s, t) | changedOthers(s, t) | changedEditions(s, t);
        wrong |= changedQuery(s, t) | changedAnswer(s, t);
        assert(wrong | differ(s.nonce, t.nonce) == 0);
    }

    function false_allow_never_succeeds(address sender, int256 change) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.allow, (analyst, change))));
    }

    // Only the bits that say whether precision is sold; they are the first edition's, too.
    function wrongSelling(State memory s, State memory t) private view returns (uint256) {
        return changedRoles(s, t) | changedMeters(s, t) | changedRest(s, t) | differ(s.till2, t.till2)
            | (mask(edition != 0) & differ(s.till, t.till));
    }

    function claim_pause(address sender, bool paused) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.pause, (paused)));
        State memory t = read();
        uint256 wrong = wrongSelling(s, t);
        if (!ok) assert(wrong | changedTills(s, t) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.first & CLOSED == 0) | (keeps(t) ^ 1)
                | differ(t.first, (s.first & ~SELLING) | (not(paused) << 255)) == 0
        );
    }

    function claim_pause_query(address sender, bool paused) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.pause_query, (query, paused)));
        State memory t = read();
        uint256 wrong = changedRoles(s, t) | changedTills(s, t) | changedRest(s, t) | differ(s.later, t.later);
        if (!ok) assert(wrong | differ(s.meter, t.meter) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.meter != 0) | (keeps(t) ^ 1)
                | differ(t.meter, (s.meter & ~PAUSED) | (is1(paused) << 255)) == 0
        );
    }

    function claim_close(address sender) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.close, ()));
        State memory t = read();
        uint256 wrong = wrongSelling(s, t);
        if (!ok) assert(wrong | changedTills(s, t) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.first & CLOSED == 0) | (keeps(t) ^ 1)
                | differ(t.first, (s.first & ~SELLING) | CLOSED) == 0
        );
    }

    function false_pause_never_succeeds(address sender, bool paused) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.pause, (paused))));
    }

    function false_pause_query_never_succeeds(address sender, bool paused) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.pause_query, (query, paused))));
    }

    function false_close_never_succeeds(address sender) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.close, ())));
    }

    // --- custody: only roles change, and only as named

    function wrongCustody(State memory s, State memory t) private view returns (uint256) {
        return changedTills(s, t) | changedMeters(s, t) | changedRest(s, t);
    }

    function claim_change_worker(address sender, address worker) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.change_worker, (worker)));
        State memory t = read();
        uint256 wrong = wrongCustody(s, t) | differ(s.custodian, t.custodian) | differ(s.heir, t.heir);
        if (!ok) assert(wrong | differ(s.worker, t.worker) == 0);
        else assert(wrong | not(uint160(sender) == s.custodian) | differ(t.worker, uint160(worker)) | not(t.worker != 0) == 0);
    }

    function claim_offer_custody(address sender, address heir) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.offer_custody, (heir)));
        State memory t = read();
        uint256 wrong = wrongCustody(s, t) | differ(s.custodian, t.custodian) | differ(s.worker, t.worker);
        if (!ok) assert(wrong | differ(s.heir, t.heir) == 0);
        else assert(wrong | not(uint160(sender) == s.custodian) | differ(t.heir, uint160(heir)) == 0);
    }

    function claim_take_custody(address sender) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.take_custody, ()));
        State memory t = read();
        uint256 wrong = wrongCustody(s, t) | differ(s.worker, t.worker);
        if (!ok) assert(wrong | differ(s.custodian, t.custodian) | differ(s.heir, t.heir) == 0);
        else assert(wrong | not(uint160(sender) == s.heir) | differ(t.custodian, uint160(sender)) | differ(t.heir, 0) == 0);
    }

    function false_change_worker_never_succeeds(address sender, address worker) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.change_worker, (worker))));
    }

    function false_offer_custody_never_succeeds(address sender, address heir) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.offer_custody, (heir))));
    }

    function false_take_custody_never_succeeds(address sender) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.take_custody, ())));
    }
}
