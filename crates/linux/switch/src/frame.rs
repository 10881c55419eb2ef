/// Handle of a frame held by a fabric. Valid until the frame is released.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(u32);

/// The bytes of all frames held by a fabric, in reused buffers.
#[derive(Clone, Debug)]
pub struct Frames {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    most: usize,
}

impl Frames {
    /// Creates a store for `most` frames; allocates on demand.
    pub fn new(most: usize) -> Self {
        Self { buffers: Vec::new(), free: Vec::new(), most }
    }

    /// Stores a copy of `bytes`; `None` if the store is full.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Option<FrameId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.buffers.len() < self.most => self.grow(),
            None => return None,
        };
        let buffer = &mut self.buffers[index as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Some(FrameId(index))
    }

    /// Stores a copy of a frame created by the switch itself; exempt from the limit.
    pub fn put_own(&mut self, bytes: &[u8]) -> FrameId {
        if let Some(frame) = self.put(bytes) {
            return frame;
        }
        let index = self.grow();
        self.buffers[index as usize].extend_from_slice(bytes);
        FrameId(index)
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.buffers.push(Vec::new());
        self.buffers.len() as u32 - 1
    }

    /// Duplicates a frame; `None` if the store is full.
    pub fn copy(&mut self, frame: FrameId) -> Option<FrameId> {
        let bytes = core::mem::take(&mut self.buffers[frame.0 as usize]);
        let copy = self.put(&bytes);
        self.buffers[frame.0 as usize] = bytes;
        copy
    }

    /// The bytes of a frame.
    #[inline]
    pub fn bytes(&self, frame: FrameId) -> &[u8] {
        &self.buffers[frame.0 as usize]
    }

    /// The bytes of a frame, for rewriting.
    #[inline]
    pub fn bytes_mut(&mut self, frame: FrameId) -> &mut Vec<u8> {
        &mut self.buffers[frame.0 as usize]
    }

    /// Frees the frame's buffer.
    #[inline]
    pub fn release(&mut self, frame: FrameId) {
        debug_assert!(!self.free.contains(&frame.0), "{frame:?} is released twice");
        self.free.push(frame.0);
    }

    /// Number of frames held.
    pub fn held(&self) -> usize {
        self.buffers.len() - self.free.len()
    }
}
