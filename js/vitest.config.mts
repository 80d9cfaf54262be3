import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    globalSetup: ["tests/stage/packed.ts"],
    // It ends what hangs. What takes a second alone takes several where everything else runs beside it.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
