import type { Logger } from 'pino'
import { logEvent } from '../../runtime/logEvents.ts'
import type { BookLimits } from '../limits.ts'
import type { Booked } from './bookEntries.ts'
import { rejectName } from './rejects.ts'
import { TopSpenders } from './topSpenders.ts'

/** Counters since the start, for metrics. */
export interface SettlementStats {
  batches: number
  receipts: number
  duplicates: number
  rejects: number
  /** Units charged beyond the balances of the book, borne by the house. */
  shortfallUnits: number
  /** Batches repeated after an error of the database, and reads after one of Redis. */
  retries: number
}

/** The bookings of a control since its start. */
export class SettlementTally {
  readonly stats: SettlementStats = {
    batches: 0,
    receipts: 0,
    duplicates: 0,
    rejects: 0,
    shortfallUnits: 0,
    retries: 0,
  }
  readonly spenders: TopSpenders
  private readonly log: Logger

  constructor(log: Logger, limits: BookLimits) {
    this.log = log
    this.spenders = new TopSpenders(limits)
  }

  /** Counts a batch that is committed, and logs what in it is not as it should be. */
  note(booked: Booked): void {
    const { stats, log } = this
    stats.batches++
    stats.receipts += booked.receipts
    stats.duplicates += booked.duplicates
    stats.rejects += booked.rejects.length
    stats.shortfallUnits += booked.shortfallUnits
    this.spenders.note(booked.spending)
    for (const { from, reason } of booked.rejects) {
      logEvent(log, 'settlement_rejected', { shard: from.raw.shard, entry: rejectName(from), reason })
    }
    for (const { owner, shard, seq, ahead } of booked.gaps) {
      logEvent(log, 'settlement_out_of_order', { owner, shard, seq, ahead })
    }
    if (booked.shortfallUnits > 0) logEvent(log, 'settlement_shortfall', { units: booked.shortfallUnits })
  }
}
