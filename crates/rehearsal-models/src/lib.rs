//! Who can play the model: providers, script, recording
