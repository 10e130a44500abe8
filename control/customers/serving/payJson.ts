import { formatUsd } from '../../../contract/money/units.ts'
import { type Pay, PPM } from './admission.ts'

/** What a provider is paid, as it is shown: a share of each charge, or USD per million tokens. */
export function payJson(pay: Pay) {
  if (pay.kind === 'share') return { share: pay.ppm / PPM }
  const { input, cachedInput, output } = pay
  return { price: { input: formatUsd(input), cached_input: formatUsd(cachedInput), output: formatUsd(output) } }
}
