// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// An ERC-4626 vault of a coin. Revenue arrives by a plain transfer and vests linearly once `vestRevenue` has counted it, so
/// that a deposit right before it gains nothing. There is no owner and no role: nobody can take what is deposited.
contract ScoinVault is ERC4626 {
    uint256 public immutable vestSeconds;

    /// What deposits and counted revenue come to; what the balance has above it is revenue that is not counted yet.
    uint256 private _counted;
    uint256 private _vesting;
    uint256 public vestFrom;
    uint256 public vestUntil;

    event RevenueReceived(uint256 assets, uint256 vestsUntil);

    error NoRevenue();
    error NoShares();

    constructor(IERC20 coin, string memory name_, string memory symbol_, uint256 vestSeconds_)
        ERC4626(coin)
        ERC20(name_, symbol_)
    {
        vestSeconds = vestSeconds_;
    }

    /// Revenue that is counted and has not vested; rounded up, so that the assets are never overstated.
    function unvested() public view returns (uint256) {
        if (block.timestamp >= vestUntil) return 0;
        return Math.mulDiv(_vesting, vestUntil - block.timestamp, vestUntil - vestFrom, Math.Rounding.Ceil);
    }

    /// Revenue that arrived and does not vest yet.
    function pendingRevenue() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this)) - _counted;
    }

    /// What belongs to the shares now.
    function totalAssets() public view override returns (uint256) {
        return _counted - unvested();
    }

    /// Begins to vest what arrived. Anybody may call it. What vests already keeps its pace: the time that is left becomes the
    /// mean of both, weighted by amount and rounded down, so that tiny amounts can not delay it.
    function vestRevenue() external returns (uint256 assets) {
        assets = pendingRevenue();
        if (assets == 0) revert NoRevenue();
        if (totalSupply() == 0) revert NoShares();
        uint256 left = unvested();
        uint256 leftSeconds = left == 0 ? 0 : vestUntil - block.timestamp;
        uint256 all = left + assets;
        _counted += assets;
        _vesting = all;
        vestFrom = block.timestamp;
        vestUntil = block.timestamp + (left * leftSeconds + assets * vestSeconds) / all;
        emit RevenueReceived(assets, vestUntil);
    }

    /// Virtual shares, a million for each unit of the coin: inflating the price of the first deposit costs a million times
    /// what it takes.
    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        _counted += assets;
        super._deposit(caller, receiver, assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        if (shares == totalSupply()) {
            // The last shares leave: what vests, and the part of the virtual shares, waits as revenue for those who come next.
            _counted = 0;
            _vesting = 0;
            vestUntil = block.timestamp;
        } else {
            _counted -= assets;
        }
        super._withdraw(caller, receiver, owner, assets, shares);
    }
}
