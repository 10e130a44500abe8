import { Bench } from 'tinybench'
import { addAccounting } from './accounting.ts'
import { addLeasing } from './leasing.ts'
import { addPayments } from './payments.ts'
import { addAnswers, addRelay } from './relay.ts'
import { addTraces } from './traces.ts'

const MILLISECONDS = 300

const bench = new Bench({ time: MILLISECONDS, warmupTime: MILLISECONDS / 3 })
addAccounting(bench)
addLeasing(bench)
addRelay(bench)
addAnswers(bench)
await addTraces(bench)
const endPayments = await addPayments(bench)
await bench.run()
await endPayments()
for (const task of bench.tasks) {
  const { result } = task
  if (!('latency' in result)) throw new Error(`${task.name} did not run`)
  const nanos = result.latency.p50 * 1e6
  process.stdout.write(`${task.name.padEnd(48)} ${nanos.toFixed(0).padStart(7)} ns (median)\n`)
}
