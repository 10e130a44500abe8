/**
 * In which order the routes of one priority are asked.
 * - `weight`: each is first for a share of the conversations, by its weight.
 * - `price`: by the provider's cost, the lowest first.
 * - `first_token`: by the recent time to the first output of their streams, the shortest first.
 */
export type RouteOrderRule = 'weight' | 'price' | 'first_token'
