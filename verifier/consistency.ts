import { must } from './failed.ts'
import { Members } from './members.ts'
import { isConsistent, type TreeHead } from './tree.ts'

/**
 * Checks that the larger of two heads of the log of heads contains the smaller.
 * @param proof as GET /v1/log/consistency answers; heads of one size need none
 * @returns the result, for the reader
 * @throws Failed if it does not, or without a proof
 */
export function proveConsistent(one: TreeHead, other: TreeHead, proof: unknown): string {
  const [first, second] = one.size <= other.size ? [one, other] : [other, one]
  if (proof === undefined) {
    const path = `/v1/log/consistency?from=${first.size}&to=${second.size}`
    must(first.size === second.size, `there is no proof, such as ${path} answers`)
    must(isConsistent(first, second, []), `two checkpoints of ${first.size} heads have different roots`)
    return `both are of ${first.size} heads, with one root`
  }
  const members = new Members(proof, 'proof')
  const [from, to] = [members.count('from'), members.count('to')]
  must(
    from === first.size && to === second.size,
    `the proof is from ${from} to ${to} heads, not ${first.size} to ${second.size}`,
  )
  must(isConsistent(first, second, members.hashes('proof')), `${second.size} heads do not begin with the ${first.size}`)
  return `the ${second.size} heads begin with the ${first.size}`
}
