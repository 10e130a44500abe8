/** Does nothing; a pool whose thread has ended starts one for it, which then takes the waiting tasks. */
export function run(): void {}
