/** Names a product that control is to leave out. */
export const WITHOUT_VARIABLE = 'SLUICE_TEST_WITHOUT'
