import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import { UNITS_PER_USD } from '../../contract/money/units.ts'
import { payerPrincipal } from '../../proxy/access/payerPrincipal.ts'
import { heldOf } from '../../proxy/admission/held.ts'
import { Lease } from '../../proxy/admission/leases/lease.ts'
import { HOUR_MS } from '../../proxy/admission/leases/leaseName.ts'
import { OpenHold } from '../../proxy/admission/leases/openHold.ts'

const HELD = 1_000
const CHARGED = 400

/** Adds the bench of a request on a lease: its hold, its ending, and the delivery of its charge. */
export function addLeasing(bench: Bench): void {
  const principal = payerPrincipal('0x00000000000000000000000000000000000000aa')
  const lease = new Lease({ shard: 0, accountId: principal.accountId, keys: principal.keyId, hour: 0 })
  const unused = { onHeld: () => undefined, onHoldRefused: () => undefined, onCrashed: () => undefined }
  const waiter = { requestId: 'req_1', principal, wantUnits: HELD, leastUnits: HELD, holdMeta: '', ...unused }
  const charged = { coinUnits: CHARGED, coinNanos: CHARGED, grants: [] }
  const run = () => {
    const held = heldOf(lease.hold(HELD, 0, UNITS_PER_USD), HOUR_MS)
    const hold = new OpenHold({ ...waiter, coinUsdUnits: UNITS_PER_USD }, lease, held, () => undefined)
    const ending = hold.end(1, CHARGED, '')
    lease.takenOff(ending.charged)
    lease.add(charged)
    return ending
  }
  lease.add({ coinUnits: HELD, coinNanos: HELD, grants: [] })
  assert.deepEqual(run().charged, charged)
  assert.equal(lease.free(0, UNITS_PER_USD), HELD)
  bench.add('hold, ending and delivery on a lease', () => {
    run()
  })
}
