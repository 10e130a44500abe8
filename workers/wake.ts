/** Does nothing; a pool whose thread has ended starts one for it, which then takes up what waits. */
export function run(): void {}
