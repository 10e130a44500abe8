import { grantUnits, NO_GRANTS, type Parts } from './parts.ts'

/** A granted hold. */
export interface Held {
  /** All of it, tokens of a lock at their locked price included. */
  readonly units: number
  /** The part of it that is tokens of a lock. */
  readonly lockUnits: number
  /** The part of it that is promotional credits. */
  readonly creditUnits: number
  /** On Redis's clock, as the book has it. */
  readonly heldAtMs: number
  /** The pots that it was taken from. */
  readonly parts: Parts
}

/** @param lockUnits the part of it that is tokens of a lock, which are among the grants of its parts */
export function heldOf(parts: Parts, heldAtMs: number, lockUnits = 0): Held {
  const granted = grantUnits(parts)
  return { units: parts.coinUnits + granted, lockUnits, creditUnits: granted - lockUnits, heldAtMs, parts }
}

/** A hold on money in USD, which is counted in units. */
export function heldMoney(units: number, heldAtMs: number): Held {
  return heldOf({ coinUnits: units, coinNanos: units, grants: NO_GRANTS }, heldAtMs)
}
