import { type PaymentCheck, type Verdict, verdictOf } from '../contract/payments/verdict.ts'

/** Checks the signatures of payments; runs on a thread. @returns a verdict for each, in their order */
export function run(checks: readonly PaymentCheck[]): Verdict[] {
  return checks.map(verdictOf)
}
