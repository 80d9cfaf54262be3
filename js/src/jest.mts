export * from "./jest.js";
