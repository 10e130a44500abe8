import type { LogEventTable } from '../../contract/std/logEvents.ts'

/** The events of changes that control sees of its servers and of its own lag. */
export const WATCH_EVENTS = {
  export_caught_up: ['info', 'the export has caught up'],
  export_late: [
    'warn',
    'the export is late',
    'See "If exports stop" of docs/operations/exports.md; `lagMs` is the time since the end of the oldest hour that is not exported.',
  ],
  postgres_recovered: ['info', 'PostgreSQL answers in time again'],
  postgres_slow: [
    'warn',
    'PostgreSQL does not answer a small statement in time, or no connection to it is free',
    'Read `reason`; `waiting` callers wait for a connection of the pool.',
  ],
  redis_changed: ['warn', 'another server of Redis answers, or the same one after a restart'],
  redis_recovered: ['info', 'Redis answers in time again'],
  redis_slow: ['warn', 'Redis does not answer in time', 'Read `reason`; look at its memory and its slow log.'],
  settlement_caught_up: ['info', 'settlement: has caught up'],
  settlement_late: [
    'warn',
    'settlement: ended requests wait to be booked for long',
    'Look at `postgres_slow` and `settlement_write_failed`; `lagMs` is the age of the oldest one. Nothing is lost.',
  ],
} as const satisfies LogEventTable
