// Ports that the queues of both switches have.
input logic clk,
input logic rst,
input config_t cfg,
input logic in_valid,
output logic in_ready,
input frame_t in,
output verdict_t verdict,  // with in_valid and in_ready
output frame_t victim,     // whom the verdict is about
input logic wants,         // `next` or `done` as soon as there is a turn
output logic turn,
input logic next,
output logic next_valid,   // a frame goes into service; it is at `out` from the next cycle on
output frame_t out,
input logic done,
output logic [7:0] held_data,    // data frames, waiting and in service
output logic [7:0] held_control  // control frames, waiting
