import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["tests/unit/**/*.test.{ts,tsx}"],
    // It ends what hangs. What takes a second alone takes several where everything else runs beside it.
    testTimeout: 60_000,
  },
});
