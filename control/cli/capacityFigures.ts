// Written by scripts/docs/capacity.mjs from bench/results/last.json.
import type { CapacityFigures } from './capacityPlan.ts'

export const CAPACITY_FIGURES: CapacityFigures = {
  at: '2026-11-28',
  cpu: 'AMD EPYC',
  requestMicros: {
    hot: { proxy: 47.2464, redis: 6.6446, control: 19.5584, postgres: 26.4032 },
    cold: { proxy: 163.2902, redis: 89.669, control: 108.4134, postgres: 82.9045 },
  },
  chunkMicros: 18.2966,
  workerStreamsMax: 2_000,
  workerBytes: 302_735_360,
  walBytesPerReceipt: 1_192,
}
