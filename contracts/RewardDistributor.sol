// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// Rewards of holders by period. A period is published only while the contract has the coin for all that is not claimed, and
/// nobody can change or take back one that is published. Leaves are those of OpenZeppelin's StandardMerkleTree of
/// (address account, uint256 amount).
contract RewardDistributor is AccessControl {
    using SafeERC20 for IERC20;

    bytes32 public constant PUBLISHER_ROLE = keccak256("PUBLISHER_ROLE");

    struct Period {
        bytes32 root;
        /// What all leaves come to, and what of it is claimed.
        uint256 total;
        uint256 claimed;
    }

    IERC20 public immutable coin;
    /// The number of the last period; 0 before the first. Periods without rewards are left out.
    uint256 public lastNumber;
    /// What can still be claimed of all periods.
    uint256 public unclaimed;
    mapping(uint256 number => Period) private _periods;
    mapping(uint256 number => mapping(address account => bool)) public isClaimed;

    event Published(uint256 indexed number, bytes32 root, uint256 total);
    event Claimed(uint256 indexed number, address indexed account, uint256 amount);

    error WrongNumber(uint256 number, uint256 lastNumber);
    error Underfunded(uint256 balance, uint256 needed);
    error AlreadyClaimed(uint256 number, address account);
    error WrongProof(uint256 number, address account, uint256 amount);
    error UnknownPeriod(uint256 number);

    /// @param admin may give and take roles
    /// @param publisher may publish periods
    constructor(IERC20 coin_, address admin, address publisher) {
        coin = coin_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(PUBLISHER_ROLE, publisher);
    }

    /// Publishes a period whose coin is here already.
    function publish(uint256 number, bytes32 root, uint256 total) external onlyRole(PUBLISHER_ROLE) {
        if (number <= lastNumber) revert WrongNumber(number, lastNumber);
        uint256 needed = unclaimed + total;
        uint256 balance = coin.balanceOf(address(this));
        if (balance < needed) revert Underfunded(balance, needed);
        lastNumber = number;
        unclaimed = needed;
        _periods[number] = Period(root, total, 0);
        emit Published(number, root, total);
    }

    /// Sends an account its reward of a period, once. Anybody may call it; the coin goes to the account.
    function claim(uint256 number, address account, uint256 amount, bytes32[] calldata proof) external {
        Period storage one = _periods[number];
        if (one.root == 0) revert UnknownPeriod(number);
        if (isClaimed[number][account]) revert AlreadyClaimed(number, account);
        bytes32 leaf = keccak256(bytes.concat(keccak256(abi.encode(account, amount))));
        // A root whose leaves come to more than its total takes nothing from other periods.
        if (!MerkleProof.verifyCalldata(proof, one.root, leaf) || amount > one.total - one.claimed) {
            revert WrongProof(number, account, amount);
        }
        isClaimed[number][account] = true;
        one.claimed += amount;
        unclaimed -= amount;
        emit Claimed(number, account, amount);
        coin.safeTransfer(account, amount);
    }

    /// A period as it was published, and what of it is claimed.
    function period(uint256 number) external view returns (Period memory) {
        if (_periods[number].root == 0) revert UnknownPeriod(number);
        return _periods[number];
    }
}
