graph []
