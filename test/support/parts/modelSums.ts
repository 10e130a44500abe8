export function unitsIn(parts: readonly { readonly units: number }[]): number {
  return sumOf(parts.map(({ units }) => units))
}

export function sumOf(units: readonly number[]): number {
  return units.reduce((sum, one) => sum + one, 0)
}

export function addTo<Key>(sums: Map<Key, number>, key: Key, units: number): void {
  sums.set(key, (sums.get(key) ?? 0) + units)
}
