import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMISSION_LIMITS } from '../../../control/admission/limits.ts'
import { API_LIMITS } from '../../../control/api/limits.ts'
import { AUDIT_LIMITS } from '../../../control/audit/limits.ts'
import { BATCH_LIMITS } from '../../../control/batch/limits.ts'
import { BOOK_LIMITS } from '../../../control/book/limits.ts'
import { CATALOG_LIMITS } from '../../../control/catalog/limits.ts'
import { CUSTOMER_LIMITS } from '../../../control/customers/limits.ts'
import { LAUNCH_LIMITS } from '../../../control/launch/limits.ts'
import { CONTROL_LIMITS } from '../../../control/limits.ts'
import { ONCHAIN_LIMITS } from '../../../control/onchain/limits.ts'
import { RUNTIME_LIMITS } from '../../../control/runtime/limits.ts'

test('no two floors have a limit of the same name', () => {
  const floors = [
    RUNTIME_LIMITS,
    BOOK_LIMITS,
    CATALOG_LIMITS,
    API_LIMITS,
    ADMISSION_LIMITS,
    ONCHAIN_LIMITS,
    CUSTOMER_LIMITS,
    BATCH_LIMITS,
    AUDIT_LIMITS,
    LAUNCH_LIMITS,
  ]
  const names = floors.flatMap((limits) => Object.keys(limits))
  assert.deepEqual(names.toSorted(), Object.keys(CONTROL_LIMITS).toSorted())
})
