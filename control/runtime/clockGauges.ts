import type { ClockWatch } from './clockWatch.ts'
import { type GaugeGroup, gaugeGroup } from './metrics/metricGroups.ts'

/** How far the clock of this machine is from Redis's. */
export function clockGauges(watch: ClockWatch): GaugeGroup {
  return gaugeGroup(
    { clock_difference_seconds: "How far this machine's clock is ahead of Redis's; below zero when it is behind" },
    async () => ({ clock_difference_seconds: watch.aheadSeconds }),
  )
}
