import type { Invariant } from './check.ts'

/** Reports of living proxy processes about their requests, against the endings that the book has of them. */
export const OPENING_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every request of a process that is gone has ended',
    checked: `SELECT count(*) || ' processes, whose journals were delivered' FROM proxy_owners WHERE replayed_at IS NOT NULL`,
    faults: `
      SELECT o.owner || ' had begun ' || o.begun || ' requests, and ' || coalesce(sum(p.seq), 0) || ' have ended'
      FROM proxy_owners o LEFT JOIN owner_positions p USING (owner)
      WHERE o.replayed_at IS NOT NULL GROUP BY o.owner, o.begun HAVING o.begun > coalesce(sum(p.seq), 0)`,
  },
]
