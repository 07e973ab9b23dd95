// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// What `make prove` proves about the compiled PrivacyLedger, one function each; docs/reference/contract.md explains them.
// `claim_` must hold for all values, `false_` must be refuted: a proof that cannot fail proves nothing.
//
// Each starts from any state that keeps the invariant (`wellFormed` and `fits`), under any terms that the constructor accepts.
// Every other word of the storage is arbitrary. Conditions are added up in `wrong` without branches, which keeps the paths few.

import {CREATION, CUSTODIAN, HEIR, WORKER, ALLOWANCE, NONCE, CEILING, TILL, METERS, POINTS} from "./Artifact.sol";

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
    }

    struct Request {
        bytes32 query;
        uint256 precision;
        uint256 epsilon;
        uint256 delta;
    }

    function register(string memory, uint256, uint256, uint256, uint256) external;
    function ask(Request[] memory, uint256) external;
    function ask_signed(Request[] memory, uint256, uint256, address, bytes memory) external;
    function reveal(bytes32[] memory, uint256[] memory, uint256[] memory, int256[] memory) external;
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
    uint256 private constant MAX = 2 ** 112 - 1;
    uint256 private constant SELLING = 2 ** 255;
    uint256 private constant CLOSED = 2 ** 254;

    // Everything that functions may write: of one query and any other, one analyst and any other.
    struct State {
        uint256 custodian;
        uint256 heir;
        uint256 worker;
        uint256 till;
        uint256 meter;
        uint256 otherMeter;
        uint256 ceiling;
        uint256 otherCeiling;
        uint256 allowance;
        uint256 otherAllowance;
        uint256 nonce;
        uint256 otherNonce;
        uint256 point;
        uint256 otherPoint;
    }

    address private ledger;
    Ledger.Terms private terms;
    bytes32 private query;
    bytes32 private other;
    address private analyst;
    address private stranger;
    uint256 private coordinate;
    uint256 private otherCoordinate;

    function setUp() public {
        terms = Ledger.Terms(
            svm.createBytes32("commitment"),
            svm.createUint256("rows"),
            svm.createBool("replaces"),
            svm.createBool("reuses"),
            svm.createBool("requires_allowance"),
            svm.createUint256("budget"),
            svm.createUint256("smallest"),
            svm.createUint256("epsilon"),
            svm.createUint256("delta")
        );
        publish(svm.createAddress("first worker"));
        svm.enableSymbolicStorage(ledger);
        put(CUSTODIAN, uint160(svm.createAddress("custodian")));
        put(HEIR, uint160(svm.createAddress("heir")));
        put(WORKER, uint160(svm.createAddress("worker")));
        put(TILL, svm.createUint256("till"));
        query = svm.createBytes32("query");
        other = svm.createBytes32("other query");
        analyst = svm.createAddress("analyst");
        stranger = svm.createAddress("other analyst");
        coordinate = svm.createUint256("coordinate");
        otherCoordinate = svm.createUint256("coordinate of the other");
    }

    function publish(address worker) private {
        bytes memory code = bytes.concat(CREATION, abi.encode(terms, worker));
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

    function pointAt(bytes32 path, uint256 j) private view returns (uint256) {
        return get(keccak256(abi.encode(keccak256(abi.encode(POINTS, path)), j)));
    }

    function read() private view returns (State memory s) {
        s.custodian = get(bytes32(CUSTODIAN));
        s.heir = get(bytes32(HEIR));
        s.worker = get(bytes32(WORKER));
        s.till = get(bytes32(TILL));
        s.meter = at(METERS, query);
        s.otherMeter = at(METERS, other);
        s.ceiling = at(CEILING, query);
        s.otherCeiling = at(CEILING, other);
        s.allowance = at(ALLOWANCE, bytes32(uint256(uint160(analyst))));
        s.otherAllowance = at(ALLOWANCE, bytes32(uint256(uint160(stranger))));
        s.nonce = at(NONCE, bytes32(uint256(uint160(analyst))));
        s.otherNonce = at(NONCE, bytes32(uint256(uint160(stranger))));
        s.point = pointAt(query, coordinate);
        s.otherPoint = pointAt(other, otherCoordinate);
    }

    function spent(uint256 till) private pure returns (uint256) {
        return till & MAX;
    }

    function bought(uint256 meter) private pure returns (uint256) {
        return meter & MAX;
    }

    function revealed(uint256 meter) private pure returns (uint256) {
        return (meter >> 112) & MAX;
    }

    function dimension(uint256 meter) private pure returns (uint256) {
        return (meter << 1) >> 225;
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

    function differ(uint256 a, uint256 b) private pure returns (uint256) {
        return a ^ b;
    }

    // An unknown query has no meter; a known one has a dimension, and is revealed no further than it is bought.
    function wellFormed(uint256 meter) private pure returns (uint256) {
        uint256 d = dimension(meter);
        return is1(meter == 0) | (is1(d != 0) & is1(d <= 512) & is1(revealed(meter) <= bought(meter)));
    }

    // Spent at most the budget, not both closed and selling, no other bits.
    function fits(uint256 till) private view returns (uint256) {
        return is1(spent(till) <= terms.budget) & is1(till & (SELLING | CLOSED) != SELLING | CLOSED)
            & is1(till & ~(SELLING | CLOSED | MAX) == 0);
    }

    function start() private returns (State memory s) {
        vm.assume(query != other);
        vm.assume(analyst != stranger);
        s = read();
        vm.assume(wellFormed(s.meter) & wellFormed(s.otherMeter) & fits(s.till) == 1);
    }

    // --- what a function leaves alone; the claims take out what it may change

    function changedRoles(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.custodian, t.custodian) | differ(s.heir, t.heir) | differ(s.worker, t.worker);
    }

    function changedOthers(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.otherMeter, t.otherMeter) | differ(s.otherCeiling, t.otherCeiling)
            | differ(s.otherAllowance, t.otherAllowance) | differ(s.otherNonce, t.otherNonce) | differ(s.otherPoint, t.otherPoint);
    }

    function changedPath(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.ceiling, t.ceiling) | differ(s.point, t.point);
    }

    function changedAnalyst(State memory s, State memory t) private pure returns (uint256) {
        return differ(s.allowance, t.allowance) | differ(s.nonce, t.nonce);
    }

    function changed(State memory s, State memory t) private pure returns (uint256) {
        return changedRoles(s, t) | changedOthers(s, t) | changedPath(s, t) | changedAnalyst(s, t) | differ(s.till, t.till)
            | differ(s.meter, t.meter);
    }

    // --- the beginning: nothing is bought, revealed, allowed or signed

    function claim_published(address worker) external {
        publish(worker);
        State memory t = read();
        uint256 wrong = differ(t.till, SELLING) | t.meter | t.ceiling | t.allowance | t.nonce | t.point | t.heir;
        wrong |= differ(t.custodian, uint160(address(this))) | differ(t.worker, uint160(worker)) | not(worker != address(0));
        wrong |= not(terms.budget != 0) | not(terms.budget <= MAX) | not(terms.smallest <= terms.budget) | (fits(t.till) ^ 1);
        assert(wrong == 0);
    }

    function false_published_never_succeeds(address worker) external {
        publish(worker);
        assert(ledger == address(0));
    }

    // --- ask

    function requests(uint256 precision, uint256 epsilon, uint256 delta) private view returns (Ledger.Request[] memory list) {
        list = new Ledger.Request[](1);
        list[0] = Ledger.Request(query, precision, epsilon, delta);
    }

    // What one purchase may do: `wrong` is 0 if it does that and nothing else.
    function wrongSale(State memory s, State memory t, uint256 precision, uint256 limit) private view returns (uint256 wrong) {
        unchecked {
            // What was bought, as long as the bits above it stay: that is the first thing that is checked.
            uint256 cost = t.meter - s.meter;
            wrong = differ(t.meter >> 112, s.meter >> 112) | differ(t.till >> 112, s.till >> 112) | not(cost <= MAX);
            // Spent grows by what was bought, never beyond the budget.
            wrong |= differ(t.till - s.till, cost) | not(spent(t.till) <= terms.budget) | not(spent(t.till) >= spent(s.till));
            wrong |= not(cost <= limit) | not(revealed(s.meter) <= bought(t.meter));
            // Selling, not closed, a known query that is not paused.
            wrong |= not(s.till & (SELLING | CLOSED) == SELLING) | not(s.meter != 0) | not(s.meter < 2 ** 255);
            // The allowance pays, where one is required.
            wrong |= is1(terms.requiresAllowance) & (not(cost <= s.allowance) | not(t.allowance == s.allowance - cost));
            wrong |= not(terms.requiresAllowance) & not(t.allowance == s.allowance);
            // The price: free up to what was bought, if answers are reused; else at least the smallest purchase.
            uint256 free = is1(terms.reuses) & is1(precision <= bought(s.meter));
            wrong |= free & not(cost == 0);
            wrong |= (free ^ 1) & (not(cost != 0) | not(cost >= terms.smallest));
            wrong |= (free ^ 1) & is1(terms.reuses) & not(bought(t.meter) >= precision);
            wrong |= (free ^ 1) & not(terms.reuses) & not(cost >= precision);
            wrong |= (free ^ 1) & is1(s.ceiling != 0) & not(bought(t.meter) <= s.ceiling);
            wrong |= changedRoles(s, t) | changedOthers(s, t) | changedPath(s, t);
        }
    }

    function ask(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) private returns (bool ok) {
        bytes memory call = abi.encodeCall(Ledger.ask, (requests(precision, epsilon, delta), limit));
        vm.prank(analyst);
        (ok,) = ledger.call(call);
    }

    function claim_ask(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) external {
        State memory s = start();
        bool ok = ask(precision, epsilon, delta, limit);
        State memory t = read();
        if (ok) assert(wrongSale(s, t, precision, limit) | differ(s.nonce, t.nonce) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_for_nothing(uint256 limit) external {
        State memory s = start();
        bytes memory call = abi.encodeCall(Ledger.ask, (new Ledger.Request[](0), limit));
        vm.prank(analyst);
        (bool ok,) = ledger.call(call);
        ok;
        assert(changed(s, read()) == 0);
    }

    function claim_ask_never_succeeds_after_close(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) external {
        State memory s = start();
        vm.assume(s.till & CLOSED != 0);
        assert(!ask(precision, epsilon, delta, limit));
    }

    function false_ask_never_succeeds(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) external {
        start();
        assert(!ask(precision, epsilon, delta, limit));
    }

    function false_ask_never_costs(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) external {
        State memory s = start();
        ask(precision, epsilon, delta, limit);
        assert(read().till == s.till);
    }

    function false_ask_leaves_some_budget(uint256 precision, uint256 epsilon, uint256 delta, uint256 limit) external {
        State memory s = start();
        vm.assume(spent(s.till) < terms.budget);
        ask(precision, epsilon, delta, limit);
        assert(spent(read().till) < terms.budget);
    }

    // --- ask_signed

    struct Signed {
        uint256 precision;
        uint256 epsilon;
        uint256 delta;
        uint256 limit;
        uint256 deadline;
    }

    function askSigned(Signed memory given, bytes memory signature) private returns (bool ok) {
        Ledger.Request[] memory list = requests(given.precision, given.epsilon, given.delta);
        bytes memory call = abi.encodeCall(Ledger.ask_signed, (list, given.limit, given.deadline, analyst, signature));
        vm.prank(stranger);
        (ok,) = ledger.call(call);
    }

    function wrongSigned(State memory s, State memory t, Signed memory given) private view returns (uint256) {
        unchecked {
            return wrongSale(s, t, given.precision, given.limit) | not(t.nonce == s.nonce + 1) | not(t.nonce != 0)
                | not(block.timestamp <= given.deadline);
        }
    }

    // What EIP-712 says must be signed, worked out here once more.
    function digest(Signed memory given, uint256 nonce) private view returns (bytes32) {
        bytes memory request = "Request(bytes32 query,uint256 precision,uint256 epsilon,uint256 delta)";
        bytes32 one = keccak256(abi.encode(keccak256(request), query, given.precision, given.epsilon, given.delta));
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
        bytes32 message = keccak256(abi.encode(kind, keccak256(abi.encode(one)), given.limit, nonce, given.deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    function claim_ask_signed_by_a_key(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start();
        vm.assume(analyst.code.length == 0);
        bool ok = askSigned(given, abi.encodePacked(r, s_, v));
        State memory t = read();
        if (ok) assert(wrongSigned(s, t, given) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_signed_needs_the_signature(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start();
        vm.assume(analyst.code.length == 0);
        if (askSigned(given, abi.encodePacked(r, s_, v))) {
            assert(not(ecrecover(digest(given, s.nonce), v, r, s_) == analyst) | not(analyst != address(0)) == 0);
        }
    }

    function claim_ask_signed_by_a_contract(Signed memory given, bytes32 answer, bytes32 signature) external {
        analyst = address(new Wallet(answer));
        State memory s = start();
        bool ok = askSigned(given, abi.encode(signature));
        State memory t = read();
        if (ok) assert(wrongSigned(s, t, given) | not(answer == bytes32(bytes4(0x1626ba7e))) == 0);
        else assert(changed(s, t) == 0);
    }

    function claim_ask_signed_never_succeeds_after_close(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        State memory s = start();
        vm.assume(analyst.code.length == 0);
        vm.assume(s.till & CLOSED != 0);
        assert(!askSigned(given, abi.encodePacked(r, s_, v)));
    }

    function false_ask_signed_by_a_key_never_succeeds(Signed memory given, bytes32 r, bytes32 s_, uint8 v) external {
        start();
        vm.assume(analyst.code.length == 0);
        assert(!askSigned(given, abi.encodePacked(r, s_, v)));
    }

    function false_ask_signed_by_a_contract_never_succeeds(Signed memory given, bytes32 answer, bytes32 signature) external {
        analyst = address(new Wallet(answer));
        start();
        assert(!askSigned(given, abi.encode(signature)));
    }

    // --- reveal

    function reveal(address sender, uint256 from, uint256 to, int256[] memory increments) private returns (bool ok) {
        bytes32[] memory queries = new bytes32[](1);
        uint256[] memory starts = new uint256[](1);
        uint256[] memory ends = new uint256[](1);
        (queries[0], starts[0], ends[0]) = (query, from, to);
        bytes memory call = abi.encodeCall(Ledger.reveal, (queries, starts, ends, increments));
        vm.prank(sender);
        (ok,) = ledger.call(call);
    }

    function checkReveal(address sender, uint256 from, uint256 to, int256[] memory increments) private {
        State memory s = start();
        bool ok = reveal(sender, from, to, increments);
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 wrong = not(uint160(sender) == s.worker) | not(s.meter != 0) | differ(dimension(s.meter), increments.length);
        // Forward only, from where the path ends, to no more than was bought.
        wrong |= differ(from, revealed(s.meter)) | differ(to, revealed(t.meter)) | not(from < to) | not(to <= bought(t.meter));
        wrong |= differ(bought(s.meter), bought(t.meter)) | differ(s.meter >> 224, t.meter >> 224) | (wellFormed(t.meter) ^ 1);
        wrong |= differ(s.till, t.till) | differ(s.ceiling, t.ceiling) | changedRoles(s, t) | changedOthers(s, t);
        wrong |= changedAnalyst(s, t);
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

    // --- what the custodian does

    function send(address sender, bytes memory call) private returns (bool ok) {
        vm.prank(sender);
        (ok,) = ledger.call(call);
    }

    function claim_register(address sender, bytes32 definition, uint256[4] memory n) external {
        bytes memory text = abi.encodePacked(definition);
        query = sha256(text);
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.register, (string(text), n[0], n[1], n[2], n[3])));
        State memory t = read();
        if (!ok) {
            assert(changed(s, t) == 0);
            return;
        }
        uint256 wrong = not(uint160(sender) == s.custodian) | not(s.till & CLOSED == 0) | differ(s.meter, 0);
        wrong |= differ(bought(t.meter), 0) | differ(revealed(t.meter), 0) | differ(dimension(t.meter), n[0]);
        wrong |= (wellFormed(t.meter) ^ 1) | not(t.meter != 0) | not(t.meter < 2 ** 255) | differ(t.ceiling, n[3]);
        wrong |= differ(s.till, t.till) | differ(s.point, t.point) | changedRoles(s, t) | changedOthers(s, t);
        assert(wrong | changedAnalyst(s, t) == 0);
    }

    function false_register_never_succeeds(address sender, bytes32 definition, uint256[4] memory n) external {
        bytes memory text = abi.encodePacked(definition);
        query = sha256(text);
        start();
        assert(!send(sender, abi.encodeCall(Ledger.register, (string(text), n[0], n[1], n[2], n[3]))));
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
            wrong |= is1(int256(sum) >= 0) & differ(t.allowance, sum);
            wrong |= is1(int256(sum) < 0) & differ(t.allowance, 0);
            wrong |= is1(change >= 0) & not(t.allowance >= s.allowance);
            wrong |= is1(change <= 0) & not(t.allowance <= s.allowance);
        }
        wrong |= changedRoles(s, t) | changedOthers(s, t) | changedPath(s, t) | differ(s.till, t.till) | differ(s.meter, t.meter);
        assert(wrong | differ(s.nonce, t.nonce) == 0);
    }

    function false_allow_never_succeeds(address sender, int256 change) external {
        start();
        assert(!send(sender, abi.encodeCall(Ledger.allow, (analyst, change))));
    }

    // Apart from roles and the bits that say whether precision is sold, nothing changes.
    function changedMoney(State memory s, State memory t) private pure returns (uint256) {
        return changedOthers(s, t) | changedPath(s, t) | changedAnalyst(s, t);
    }

    function claim_pause(address sender, bool paused) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.pause, (paused)));
        State memory t = read();
        uint256 wrong = changedRoles(s, t) | changedMoney(s, t) | differ(s.meter, t.meter);
        if (!ok) assert(wrong | differ(s.till, t.till) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.till & CLOSED == 0)
                | differ(t.till, spent(s.till) | (not(paused) << 255)) == 0
        );
    }

    function claim_pause_query(address sender, bool paused) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.pause_query, (query, paused)));
        State memory t = read();
        uint256 wrong = changedRoles(s, t) | changedMoney(s, t) | differ(s.till, t.till);
        if (!ok) assert(wrong | differ(s.meter, t.meter) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.meter != 0) | (wellFormed(t.meter) ^ 1)
                | differ(t.meter, (s.meter & (2 ** 255 - 1)) | (is1(paused) << 255)) == 0
        );
    }

    function claim_close(address sender) external {
        State memory s = start();
        bool ok = send(sender, abi.encodeCall(Ledger.close, ()));
        State memory t = read();
        uint256 wrong = changedRoles(s, t) | changedMoney(s, t) | differ(s.meter, t.meter);
        if (!ok) assert(wrong | differ(s.till, t.till) == 0);
        else assert(
            wrong | not(uint160(sender) == s.custodian) | not(s.till & CLOSED == 0) | differ(t.till, spent(s.till) | CLOSED) == 0
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

    function wrongCustody(State memory s, State memory t) private pure returns (uint256) {
        return changedMoney(s, t) | differ(s.till, t.till) | differ(s.meter, t.meter);
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
