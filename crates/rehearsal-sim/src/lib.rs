//! Cases: interception, mocks, user agents, bridge, the simulation loop, suites
