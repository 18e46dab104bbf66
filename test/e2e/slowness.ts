// How much slower than at native speed paygate may be. PAYGATE_E2E_SLOWNESS is 1 by default;
// scripts/e2e.ts raises it for a paygate that an emulator runs.

const slowness = Number(process.env.PAYGATE_E2E_SLOWNESS || 1);

/** @param nativeMs the longest wait for a paygate at native speed */
export const waitLimit = (nativeMs: number): number => nativeMs * slowness;
